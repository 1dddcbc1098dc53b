"""What papers print beside what this project computes, statement by statement."""
