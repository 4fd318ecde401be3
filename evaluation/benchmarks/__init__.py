"""Public sets with published figures, and pkb's figures beside them."""
