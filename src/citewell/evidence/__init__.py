"""Evidence from outside: which pages are copies of one another, and how far each is to be believed. Pure."""
