extensions = ["myst_nb", "executable_claims"]
myst_enable_extensions = ["colon_fence"]
exclude_patterns = ["_build"]
nb_execution_mode = "off"
project = "Odd"
claims_timeout = 10
claims_distributions = ["sphinx"]
