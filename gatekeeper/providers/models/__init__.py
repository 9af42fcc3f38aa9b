"""What is known of providers and models without a call: addresses, keys, prices."""
