"""What a record is made of: the one owner of the kinds of its columns, and of text in SQL that reads it."""
