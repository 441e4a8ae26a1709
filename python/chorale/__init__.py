"""Chorale from Python: tensor programs as operators of PyTorch, and optimizers made of them."""
