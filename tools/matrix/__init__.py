"""Ask several versions of Paddle what they do with hooks: `make matrix`."""
