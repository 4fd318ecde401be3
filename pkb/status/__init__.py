"""How the service is: who works, what waits, what room is left, how old the last backup is."""
