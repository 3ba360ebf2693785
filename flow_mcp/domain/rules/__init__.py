"""The enforced rows of the contract, a module a subject, one small guard a rule."""
