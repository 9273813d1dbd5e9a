"""Ask other frameworks, and Paddle itself, the same questions about hooks: `make survey`."""
