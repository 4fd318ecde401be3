"""What a text asks for besides an answer from one place, told by its words alone. Pure."""
