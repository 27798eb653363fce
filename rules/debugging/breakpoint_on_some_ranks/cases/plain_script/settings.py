import argparse

args = argparse.Namespace(save="model.pt", layers=12)
