config = {"features": "pretraining/features.pth"}
