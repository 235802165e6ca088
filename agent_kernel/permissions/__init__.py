"""Who may do what: the gate, the modes, protected paths and the desk where people answer.

What may enter: judgement of calls. No tool, no view and no front end."""
