RED = "red"
