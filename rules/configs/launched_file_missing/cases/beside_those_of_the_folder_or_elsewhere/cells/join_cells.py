print("join")
