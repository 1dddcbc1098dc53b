"""What every package leans on: poses, loads and their quantities, checks, errors."""
