extensions = ["myst_nb", "executable_claims"]
myst_enable_extensions = ["colon_fence"]
exclude_patterns = ["_build"]
nb_execution_mode = "off"
nitpicky = True
project = "Fresh"
claims_depends = ["shapes", "colours", "requirements.lock"]
claims_environment = ["SHAPE_*"]
