model = "large"
