print("tune")
