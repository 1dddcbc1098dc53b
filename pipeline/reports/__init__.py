"""Reports: from the files of a run to `report.html` and `report.json`, and what all pages share."""
