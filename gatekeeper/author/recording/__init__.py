"""Tools of real MCP servers: their descriptions, what they answer, and whether they changed."""
