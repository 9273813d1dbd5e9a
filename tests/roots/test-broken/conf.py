extensions = ["myst_nb", "executable_claims"]
myst_enable_extensions = ["colon_fence"]
exclude_patterns = ["_build"]
nb_execution_mode = "off"
nitpicky = True
project = "Broken"
claims_depends = ["numbers_of_the_project.py"]
