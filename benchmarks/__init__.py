"""Speed and accuracy of the models, as ratios measured in one run (`make bench`)."""
