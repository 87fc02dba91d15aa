"""The paper as data: models, protocol, tasks, tables, figures and claims."""
