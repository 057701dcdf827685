"""Research packs: a question's plan, evidence, coverage and next steps in one document."""
