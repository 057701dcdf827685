"""One pure playbook per profile: which action follows which observation."""
