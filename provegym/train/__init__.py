"""GRPO and SFT on live sessions."""
