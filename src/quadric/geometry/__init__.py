"""What a quadratic surface is: numbers only, no learning."""
