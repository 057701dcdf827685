"""Text as exact offsets: canonical text, folded views, words, sentences, chunks, languages."""
