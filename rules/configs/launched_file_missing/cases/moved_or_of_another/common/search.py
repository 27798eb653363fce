print("searches")
