"""Tables of facts about libraries, each row with its source."""
