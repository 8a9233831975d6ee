"""The command line: commands parse, call one workflow, and print."""
