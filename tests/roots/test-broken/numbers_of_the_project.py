ONE = 1
RULES = {"Numbers": ("sum-is-wrong", "two-is-two"), "Threads": ("no-such-thread",)}
