"""Systems under test, and how a conversation is played against them."""
