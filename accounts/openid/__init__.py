"""Login at an OpenID provider: authorization code flow with PKCE, state and nonce."""
