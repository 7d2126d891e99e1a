"""What is minimised: penalties h, maps c and measurements A, put together as f = h ∘ A ∘ c."""
