"""Taking all that is stored out into a folder, and putting it back."""
