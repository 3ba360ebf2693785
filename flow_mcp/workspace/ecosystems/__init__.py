"""What a project's own files say of its tests: a gate, a report and inputs to propose. Nothing is run or written."""
