"""Logging in at an OpenID provider: the code flow, with PKCE, a state and a nonce."""
