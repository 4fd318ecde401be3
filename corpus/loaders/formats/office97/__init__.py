"""Office files before 2007 and Rich Text: Word, Excel, PowerPoint, Outlook, RTF."""
