"""What runs, who looks after it, and whether what fails is tried again."""
