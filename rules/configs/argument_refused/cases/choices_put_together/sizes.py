SIZES = {"small": 1, "large": 2}
