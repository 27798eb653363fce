SIZES = {"small": 1, "large": 2}
SIZES["huge"] = 3
