"""Files of Office before 2007 and what is as old: Word, Excel, PowerPoint, Outlook, RTF."""
