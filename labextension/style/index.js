import './base.css';
import './ui.css';
import './host.css';
