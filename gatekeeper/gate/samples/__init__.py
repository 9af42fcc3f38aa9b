"""What samples show before anything is compared: outcomes, amounts, agreement."""
