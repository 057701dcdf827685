"""How a brief becomes a report: planning, copies, credibility, writing, binding. Pure; the runs are in `runs`."""
