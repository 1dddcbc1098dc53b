"""Run all benchmarks and print their tables: `python -m benchmarks`."""

from benchmarks import accuracy, speed

if __name__ == "__main__":
    for table in (accuracy.facets(), speed.original(), speed.regressors()):
        print(table, end="\n\n")
