"""Who acts: set at the doors, read wherever something is kept for somebody or from somebody."""
