"""Queues of Azure Storage: how long they are, and the log's lines in their messages.

The log is the truth. A queue rings when there is something new, and carries the lines for whoever reads
nothing else; whatever becomes of it, no line is lost and no job waits.
"""
