"""The inverted index that ranks: immutable segments of postings, kept in `corpus.db` beside what they are made from.

`segments` builds one from the chunks of a batch, `merging` makes one of several, `scoring` ranks. Storing and caching
is `corpus/store/postings.py`.
"""
