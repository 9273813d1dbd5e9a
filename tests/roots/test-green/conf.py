extensions = ["myst_nb", "executable_claims"]
myst_enable_extensions = ["colon_fence"]
nb_execution_mode = "off"
nitpicky = True
project = "Green"
claims_repository = "example/example"
claims_depends = ["shapes"]
exclude_patterns = ["_build"]
